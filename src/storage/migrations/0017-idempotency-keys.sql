-- An `Idempotency-Key` names one request of its merchant for 24 hours, over all operations that move money: the digest of that request, and the
-- transaction with which it was answered. `serial_number` is the request that took the key, so that a commit that is tried again finds its own row.
create table idempotency_key (
  merchant_id bigint not null,
  key text not null,
  digest bytea not null,
  order_id bigint not null,
  transaction_no integer not null,
  serial_number uuid not null,
  held_until timestamptz not null,
  primary key (merchant_id, key)
);
create index idempotency_key_expired on idempotency_key (held_until);

-- Which transaction a key of a repeat stands for is in the table above.
alter table request drop column idempotency_key;
