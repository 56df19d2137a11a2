-- The client's name for a request that was answered with a transaction which another request had made, so that the same name goes on meaning it.
alter table request add column idempotency_key text;
