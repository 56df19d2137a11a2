-- What the payment is for: of a list of amounts the one that is tried, which an endpoint may let be above the amount of the request. Absent in older orders, where it was not.
alter table orders add column authorised_minor bigint;
alter table orders drop constraint orders_check;
alter table orders add constraint orders_check check (captured_minor between 0 and coalesce(authorised_minor, amount_minor));
