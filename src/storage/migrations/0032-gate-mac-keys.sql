-- The key that authenticates the messages of a gate, sealed; `mac_key_version` is the version of the control key that seals it.
alter table gate add column mac_key_sealed bytea;
alter table gate add column mac_key_version bigint;
alter table gate add constraint gate_mac_key_whole check ((mac_key_sealed is null) = (mac_key_version is null));
