-- Messages are claimed merchant by merchant, so that a million that wait for one merchant are not read before the one of another is found.
create index delivery_waiting on delivery (merchant_id, due_at) where due_at is not null;
drop index delivery_due;
