-- The secret that a merchant shares with the gateway for signatures by HMAC-SHA256, apart from the control key. A merchant of an
-- older version has none until an operator asks for it. `signing_secret_key` is the version of the control key it is sealed with.
-- `signed_requests` names the requests that are refused without a signature; null for none.
alter table merchant add column signing_secret_sealed bytea;
alter table merchant add column signing_secret_key bigint;
alter table merchant add column signed_requests text;
alter table merchant add constraint merchant_signing_secret_check
  check ((signing_secret_sealed is null) = (signing_secret_key is null));
alter table merchant add constraint merchant_signed_requests_check
  check (signed_requests in ('follow-ups', 'payments', 'all'));
