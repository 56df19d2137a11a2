-- The seed of the Ed25519 key that signs a merchant's callbacks beside its secret. A merchant has none until an operator asks for it.
-- `signing_seed_key` is the version of the control key it is sealed with.
alter table merchant add column signing_seed_sealed bytea;
alter table merchant add column signing_seed_key bigint;
alter table merchant add constraint merchant_signing_seed_check
  check ((signing_seed_sealed is null) = (signing_seed_key is null));
