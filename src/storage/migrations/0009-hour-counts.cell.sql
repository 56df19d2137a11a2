-- The sums of minute_count for whole hours, over all processes. Of each merchant the hours are gathered
-- in their order: those up to the last one are here, and later minutes are in minute_count alone.
create table hour_count (
  merchant_id bigint           not null,
  hour        timestamptz      not null,
  key         text collate "C" not null,
  ended       integer          not null,
  primary key (merchant_id, hour, key)
);
create index hour_count_by_hour on hour_count using brin (hour) with (pages_per_range = 16, autosummarize = on);
