-- Who uses the operator's API, by which tokens, and what was asked of it once.

create table operator_user (
  user_id     bigint      primary key,
  name        text        not null unique,
  role        text        not null,
  -- Null: it works for the whole installation.
  merchant_id bigint,
  enabled     boolean     not null,
  created_at  timestamptz not null
);

create table operator_token (
  token_id    bigint      primary key,
  user_id     bigint      not null references operator_user,
  -- SHA-256 of the token, which is random.
  digest      bytea       not null unique,
  -- At most that of the user.
  role        text        not null,
  merchant_id bigint,
  expires_at  timestamptz not null,
  revoked_at  timestamptz,
  created_at  timestamptz not null
);
create index operator_token_user on operator_token (user_id);

-- A request with an Idempotency-Key. Without a status nobody knows yet what became of it.
create table operator_request (
  token_id    bigint      not null,
  key         text        not null,
  -- SHA-256 of what was asked.
  asked       bytea       not null,
  status      smallint,
  -- Null if it had a secret, which is shown once.
  reply       text,
  created_at  timestamptz not null,
  primary key (token_id, key)
);
create index operator_request_age on operator_request (created_at);

insert into id_block (name, next_id) values ('user', 1), ('token', 1);
