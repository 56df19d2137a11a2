-- What a gate's line needs and nobody may read: one sealed JSON, and the version of the control key that seals it.
alter table gate add column secrets_sealed bytea;
alter table gate add column secrets_key bigint;
alter table gate add constraint gate_secrets_whole check ((secrets_sealed is null) = (secrets_key is null));
