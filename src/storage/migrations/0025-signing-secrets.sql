-- The secret that a merchant shares with the gateway for signatures by HMAC-SHA256, apart from the control key. A merchant of an
-- older version has none until an operator asks for it. `signing_secret_key` is the version of the control key it is sealed with.
alter table merchant
  add column signing_secret_sealed bytea,
  add column signing_secret_key bigint,
  add constraint merchant_signing_secret_check check ((signing_secret_sealed is null) = (signing_secret_key is null));
