-- How users come into the console: what they prove themselves by, their sessions, and failed tries.

create table operator_factor (
  factor_id     bigint      primary key,
  user_id       bigint      not null references operator_user,
  -- link, password, totp, recovery, passkey or account (of single sign-on).
  kind          text        not null,
  -- SHA-256 of a link, a recovery code, the id of a passkey, or the issuer and the subject of an account.
  digest        bytea,
  -- What a password is compared with (scrypt).
  hashed        jsonb,
  -- The key of TOTP.
  secret_sealed bytea,
  secret_key    bigint,
  -- The last step of 30 seconds whose code was taken; the counter of a passkey.
  step          bigint,
  -- A passkey: name, id, public key, ways to reach it. An account: issuer and subject.
  facts         jsonb,
  created_at    timestamptz not null,
  expires_at    timestamptz,
  used_at       timestamptz,
  -- Used up, replaced or taken away.
  ended_at      timestamptz
);
create index operator_factor_user on operator_factor (user_id);
create unique index operator_factor_digest on operator_factor (digest) where ended_at is null;

create table operator_session (
  session_id bigint      primary key,
  user_id    bigint      not null references operator_user,
  -- SHA-256 of the cookie, which is random.
  digest     bytea       not null unique,
  -- Null until the second factor: such a session sees nothing.
  proven_at  timestamptz,
  -- The provider of single sign-on stands for the second factor.
  vouched    boolean     not null,
  address    text        not null,
  agent      text        not null,
  created_at timestamptz not null,
  seen_at    timestamptz not null,
  ended_at   timestamptz
);
create index operator_session_user on operator_session (user_id);

-- Of a user name (account), of addresses (network), or in an open session, since the last success.
create table operator_failure (
  kind     text        not null,
  name     text        not null,
  failures integer     not null,
  -- Milliseconds since 1970.
  last_ms  bigint      not null,
  primary key (kind, name)
);

-- Which changes two users make, and what one has proposed and another confirms.
create table proposal_rules (
  only_row boolean primary key default true check (only_row),
  rules    jsonb   not null
);

create table proposal (
  proposal_id  bigint      primary key,
  -- Who proposed it, and for which merchant alone.
  user_id      bigint      not null references operator_user,
  merchant_id  bigint      references merchant,
  -- The words of the action, and the rule.
  action       text        not null,
  rule         text        not null,
  -- Exactly what was asked; it may hold secrets.
  asked_sealed bytea,
  asked_key    bigint,
  -- Of the settings that it was made on.
  version      text,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  decided_at   timestamptz,
  decided_by   text,
  -- confirmed or rejected.
  outcome      text
);

insert into id_block (name, next_id) values ('factor', 1), ('session', 1), ('proposal', 1);

-- Lists with their filters, as users save them.
create table operator_view (
  user_id bigint not null references operator_user,
  name    text   not null,
  address text   not null,
  primary key (user_id, name)
);

-- What may come back once: the answer to a passkey's challenge, or a browser from single sign-on.
create table operator_challenge (
  -- Each network has so many places, of which a further challenge takes one: strangers fill no table.
  network    text        not null,
  place      integer     not null,
  -- SHA-256 of the challenge, or of the cookie of the browser.
  digest     bytea       not null unique,
  -- sign-in, prove <session>, add <session>, or account <path>.
  purpose    text        not null,
  expires_at timestamptz not null,
  primary key (network, place)
);
