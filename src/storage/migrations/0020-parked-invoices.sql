-- An invoice whose step failed too often by itself waits for an operator, as a transaction does; the alarm says why.
alter table mobile_invoice add column alarm text;
create index mobile_invoice_parked on mobile_invoice (invoice_id) where alarm is not null;
