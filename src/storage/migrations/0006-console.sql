-- How users come into the console: what they prove themselves by, their sessions, and failed tries.

create table operator_factor (
  factor_id     bigint      primary key,
  user_id       bigint      not null references operator_user,
  -- link, password, totp or recovery.
  kind          text        not null,
  -- SHA-256 of a link or a recovery code, which are random.
  digest        bytea       unique,
  -- What a password is compared with (scrypt).
  hashed        jsonb,
  -- The key of TOTP.
  secret_sealed bytea,
  secret_key    bigint,
  -- The last step of 30 seconds whose code was taken.
  step          bigint,
  created_at    timestamptz not null,
  expires_at    timestamptz,
  -- Used up, replaced or taken away.
  ended_at      timestamptz
);
create index operator_factor_user on operator_factor (user_id);

create table operator_session (
  session_id bigint      primary key,
  user_id    bigint      not null references operator_user,
  -- SHA-256 of the cookie, which is random.
  digest     bytea       not null unique,
  -- Null until the second factor: such a session sees nothing.
  proven_at  timestamptz,
  address    text        not null,
  agent      text        not null,
  created_at timestamptz not null,
  seen_at    timestamptz not null,
  ended_at   timestamptz
);
create index operator_session_user on operator_session (user_id);

-- Of a user name (account) or of addresses (network), since the last success.
create table operator_failure (
  kind     text        not null,
  name     text        not null,
  failures integer     not null,
  last_at  timestamptz not null,
  primary key (kind, name)
);

insert into id_block (name, next_id) values ('factor', 1), ('session', 1);
