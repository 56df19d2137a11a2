-- The beginning of what was answered to a try that failed; and tries found by the blocks of their time.
alter table delivery_attempt add column answer text;
create index delivery_attempt_by_time on delivery_attempt using brin (at) with (pages_per_range = 16, autosummarize = on);
create or replace view all_tries as
  select merchant_id, order_id, delivery_no, 1 as try_no, done_at as at, duration_ms, http_status, null::text as failure,
    null::text as answer from delivery where duration_ms is not null
  union all
  select merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, failure, answer from delivery_attempt;
