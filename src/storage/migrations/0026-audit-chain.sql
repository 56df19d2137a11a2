-- The audit trail is a chain: each row has the next number, and a hash over its contents and the hash before. The migration's
-- code (storage/migrate.ts) numbers the rows that are there already, so the constraint is checked for rows written from now on.
alter table audit add column no bigint;
alter table audit add column hash bytea;
alter table audit add constraint audit_no_key unique (no);
alter table audit add constraint audit_chained check (no is not null and hash is not null) not valid;

-- Its last row. Whoever writes to the audit trail locks this row first.
create table audit_head (
  only_row boolean primary key default true check (only_row),
  no       bigint  not null,
  hash     bytea   not null
);
insert into audit_head (no, hash) values (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
