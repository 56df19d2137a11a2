-- Transfers, and the sum that a cardholder has to name where 3-D Secure does not run. `confirmed` is what the merchant's server said, `fees` what was listed for the consumer of a transfer: the order is
-- made later, by whoever has the invoice then. `rests_until` ends a wait for the app (`choosing`) or the cardholder (`answering`). The hold is an order of its own, by number from the start.
alter table mobile_invoice
  drop constraint mobile_invoice_kind_check,
  drop constraint mobile_invoice_state_check,
  drop constraint mobile_invoice_check,
  drop constraint mobile_invoice_check1,
  add constraint mobile_invoice_kind_check check (kind in ('verification', 'sale', 'transfer')),
  add constraint mobile_invoice_state_check
    check (state in ('checking', 'choosing', 'holding', 'answering', 'ordering', 'releasing', 'ordered', 'declined')),
  add constraint mobile_invoice_due_check check ((state in ('ordered', 'declined')) = (due_at is null)),
  add constraint mobile_invoice_cvv2_check check (state not in ('releasing', 'ordered', 'declined') or cvv2_sealed is null),
  add column confirmed jsonb,
  add column fees jsonb,
  -- The one that holds: chosen, or the gate's own.
  add column fee jsonb,
  add column rests_until timestamptz,
  add column hold_order_id bigint,
  add column sum_minor bigint,
  -- Of the page that asks for the sum, which knows no merchant: `locator` does.
  add column page_token text,
  add column wrong_answers smallint not null default 0 check (wrong_answers between 0 and 3),
  add column sum_status text check (sum_status in ('AUTHENTICATED', 'NOT_AUTHENTICATED')),
  add constraint mobile_invoice_rest_check check (state not in ('choosing', 'answering') or rests_until is not null),
  add constraint mobile_invoice_hold_check
    check (state not in ('holding', 'answering', 'releasing') or (hold_order_id is not null and sum_minor is not null and page_token is not null));
-- The card that a transfer credits is kept apart from the one that pays: of an order there may be both.
alter table card_reference
  add column of_destination boolean not null default false,
  drop constraint card_reference_merchant_id_order_id_key,
  add constraint card_reference_merchant_id_order_id_key unique (merchant_id, order_id, of_destination);
create unique index on mobile_invoice (merchant_id, page_token) where page_token is not null;

-- When sums were named wrongly for a card within a day, over all invoices of a merchant. The row is what parallel answers wait for.
create table wrong_sum (
  merchant_id bigint        not null,
  card_hash   text          not null,
  wrong_at    timestamptz[] not null,
  -- The newest of them.
  last_at     timestamptz   not null,
  primary key (merchant_id, card_hash)
);
create index on wrong_sum (last_at);
