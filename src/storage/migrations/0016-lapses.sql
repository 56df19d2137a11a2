-- What a process lived through with its lease, for the doctor: how often it lapsed, and how many
-- orders were in hand the last time; how many orders it took over from others.
alter table heartbeat add column lapses integer not null default 0;
alter table heartbeat add column lapsed_orders integer not null default 0;
alter table heartbeat add column lapsed_at timestamptz;
alter table heartbeat add column taken_over integer not null default 0;
alter table heartbeat add column taken_over_at timestamptz;
