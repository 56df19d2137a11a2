-- What requests signed with OAuth need: the public keys of merchants, and the nonces that were used.

-- A merchant may have several keys at once, so that one can follow another without a gap. Rows stay: a key that was retired is never taken again.
create table merchant_key (
  merchant_id bigint      not null references merchant,
  key_no      integer     not null,
  name        text        not null,
  -- SubjectPublicKeyInfo in PEM, as the gateway itself writes it, so that the same key is the same text.
  public_key  text        not null,
  created_at  timestamptz not null,
  retired_at  timestamptz,
  primary key (merchant_id, key_no),
  unique (merchant_id, public_key)
);

-- A row lives some minutes longer than the request that brought it could be accepted, and is then removed.
create table nonce (
  merchant_id bigint      not null,
  nonce       text        not null,
  expires_at  timestamptz not null,
  primary key (merchant_id, nonce)
);
create index nonce_expired on nonce (expires_at);
