-- A look-up by merchant and id may use any index that begins with the merchant. While a table is small they cost the same, a
-- plan may take the wrong one, and is kept while the table grows: each look-up then reads all rows of the merchant. So only the
-- primary keys of these tables begin with the merchant.
alter table mobile_invoice
  drop constraint mobile_invoice_merchant_id_nonce_key,
  add constraint mobile_invoice_nonce_merchant_id_key unique (nonce, merchant_id);
drop index mobile_invoice_merchant_id_page_token_idx;
create unique index mobile_invoice_page_token_merchant_id_idx on mobile_invoice (page_token, merchant_id) where page_token is not null;

alter table card_number_ref
  drop constraint card_number_ref_merchant_id_unique_reference_key,
  add constraint card_number_ref_unique_reference_merchant_id_key unique (unique_reference, merchant_id);

alter table card_reference
  drop constraint card_reference_merchant_id_order_id_key,
  drop constraint card_reference_merchant_id_recurring_payment_id_key,
  drop constraint card_reference_merchant_id_dst_card_ref_id_key,
  drop constraint card_reference_merchant_id_dst_recurring_payment_id_key,
  add constraint card_reference_order_id_merchant_id_key unique (order_id, merchant_id, of_destination),
  add constraint card_reference_recurring_payment_id_merchant_id_key unique (recurring_payment_id, merchant_id),
  add constraint card_reference_dst_card_ref_id_merchant_id_key unique (dst_card_ref_id, merchant_id),
  add constraint card_reference_dst_recurring_payment_id_merchant_id_key unique (dst_recurring_payment_id, merchant_id);
