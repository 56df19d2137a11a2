-- What the command line needs: the audit trail, and the indexes of searches.

-- Who changed what. Written in the transaction of the change. The key is a UUID of version 7, so rows are in the order of time without a counter that all would
-- touch. Like gates and key versions it belongs to the installation, not to a merchant. `details` never has a secret.
create table audit (
  audit_id uuid        primary key,
  at       timestamptz not null,
  who      text        not null,
  action   text        not null,
  subject  text        not null,
  details  jsonb       not null
);

-- Searches of orders. None begins with merchant_id: on a new table the planner would take such an index for the look-ups by primary key, and read all of a
-- merchant's rows for each order. What is written again with the outcome (status, version) is in no index but the one of unusual statuses.
-- Rejected: an index by amount (170 bytes of WAL more a sale), and one by every status, whose entry would move with the outcome of each sale.
create index orders_by_time on orders (created_at, merchant_id);
create index orders_by_name on orders (client_orderid, merchant_id);
create index orders_by_card on order_facts ((card ->> 'hashId'));
-- A sale that goes well never has an entry in the three below.
create index orders_unusual on orders (status, created_at) where status in ('unknown', 'error', 'filtered');
create index transaction_parked on transaction (order_id) where alarm is not null;
create index delivery_given_up on delivery (created_at) where state = 'given up';
-- Blocks of rows by time: next to nothing to write, and enough to find the messages of some hours.
create index delivery_by_time on delivery using brin (created_at) with (pages_per_range = 32, autosummarize = on);
