-- Ids of cards are made with a key of their own, which is never replaced; the fingerprint key can be.
alter table card_number_ref rename column fingerprint to number_id;
alter table card_reference rename column fingerprint to number_id;
alter table card_reference rename constraint card_reference_merchant_id_fingerprint_fkey to card_reference_merchant_id_number_id_fkey;

-- Nothing reads it: an order has its card-hash-id, and a reference computes the id of the number that it seals.
alter table order_facts drop constraint order_facts_card_check;
alter table order_facts drop column fingerprint;
alter table order_facts add constraint order_facts_card_check check ((pan_sealed is null) = (pan_key is null));
