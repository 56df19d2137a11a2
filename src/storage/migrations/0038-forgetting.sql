-- How far a duty is that takes many steps, as its own code writes it; null at the beginning.
alter table duty add column place json;

-- Whether the sealed secrets of an invoice may still have card numbers. An invoice that ends keeps its tokens alone; those that
-- ended before have theirs taken out by a duty, which finds them by the index.
alter table mobile_invoice add column has_numbers boolean not null default true;
create index mobile_invoice_ended_with_numbers on mobile_invoice (merchant_id, invoice_id)
  where has_numbers and ended_at is not null and secrets_sealed is not null;
