-- Entries of the last full load of card ranges that cannot be used: how many, and the first of them with the reason.
alter table directory_state add column left_out_count integer not null default 0;
alter table directory_state add column left_out text[] not null default '{}';
