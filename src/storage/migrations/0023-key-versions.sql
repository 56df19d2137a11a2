-- Keys are rotated while payments run: every sealed column names the version of its key, and every key the key-encryption key that wraps it.

-- `kek`: the id of the key-encryption key; null for keys wrapped before it was recorded.
alter table key_version add column kek text;
-- A new version is used only once every process has had time to read it.
alter table key_version add column active_at timestamptz;
update key_version set active_at = created_at;
alter table key_version alter column active_at set not null;

alter table merchant add column control_key_version bigint not null default 1;
alter table merchant alter column control_key_version drop default;
-- The version of previous_key_sealed.
alter table merchant add column previous_key_version bigint;
update merchant set previous_key_version = 1 where previous_key_sealed is not null;
