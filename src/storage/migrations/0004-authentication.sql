-- What 3-D Secure knows of a payment. With the transaction instead of a table of its own: it changes in no commit in which its transaction does not, and a plain sale has none.
alter table transaction add column authentication jsonb;
