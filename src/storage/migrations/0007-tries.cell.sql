-- Tries found by the blocks of their time.
create index delivery_attempt_by_time on delivery_attempt using brin (at) with (pages_per_range = 16, autosummarize = on);
