-- Sums that the gateway keeps in every decision, held by the database as well: whatever goes wrong, no more is captured than was authorised and no more returned than was captured.
alter table orders add column captured_minor bigint not null default 0;
alter table orders add column returned_minor bigint not null default 0;
alter table orders add check (captured_minor between 0 and amount_minor);
alter table orders add check (returned_minor between 0 and captured_minor);
-- What a capture, return or void was asked with, so that the same request is recognised.
alter table transaction add column asked jsonb;
