-- Names by which an operator finds one payment: Bloom filters over blocks of rows. A sale writes next
-- to nothing for them, since a block is summed up once, when it is full; the rows after the last full
-- block are read. `n_distinct_per_range` is how many rows a block has.
-- The answer of the acquirer and the card are JSON as the gateway writes it, without blanks: to cut
-- the text is four times as fast as to parse it, and every sale does it.
-- Rejected: ordinary indexes (170 bytes of WAL more a sale for each).
create index orders_named on orders using brin (
    serial_number uuid_bloom_ops (n_distinct_per_range = 400, false_positive_rate = 0.001),
    stan text_bloom_ops (n_distinct_per_range = 400, false_positive_rate = 0.001),
    rrn text_bloom_ops (n_distinct_per_range = 400, false_positive_rate = 0.001),
    (split_part(split_part(result::text, '"rrn":"', 2), '"', 1))
      text_bloom_ops (n_distinct_per_range = 400, false_positive_rate = 0.001),
    (split_part(split_part(result::text, '"approvalCode":"', 2), '"', 1))
      text_bloom_ops (n_distinct_per_range = 400, false_positive_rate = 0.001)
  ) with (pages_per_range = 64, autosummarize = on);
create index transaction_named on transaction using brin (
    serial_number uuid_bloom_ops (n_distinct_per_range = 600, false_positive_rate = 0.001),
    (split_part(split_part(result::text, '"rrn":"', 2), '"', 1))
      text_bloom_ops (n_distinct_per_range = 600, false_positive_rate = 0.001),
    (split_part(split_part(result::text, '"approvalCode":"', 2), '"', 1))
      text_bloom_ops (n_distinct_per_range = 600, false_positive_rate = 0.001)
  ) with (pages_per_range = 64, autosummarize = on);
create index attempt_named on attempt using brin (
    stan text_bloom_ops (n_distinct_per_range = 800, false_positive_rate = 0.001),
    rrn text_bloom_ops (n_distinct_per_range = 800, false_positive_rate = 0.001)
  ) with (pages_per_range = 32, autosummarize = on);
create index request_named on request using brin (
    serial_number uuid_bloom_ops (n_distinct_per_range = 1200, false_positive_rate = 0.001)
  ) with (pages_per_range = 16, autosummarize = on);
create index order_facts_digits on order_facts using brin (
    (left(split_part(card::text, '"bin":"', 2), 6) || left(split_part(card::text, '"lastFour":"', 2), 4))
      text_bloom_ops (n_distinct_per_range = 800, false_positive_rate = 0.001)
  ) with (pages_per_range = 64, autosummarize = on);
