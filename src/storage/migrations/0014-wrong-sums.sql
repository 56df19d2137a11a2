-- Wrong sums count for a card number whichever merchants it was named at: `card_hash` is one hash for all of them. Rows of the hash that each merchant had for itself would count no more, and live for a day anyway.
delete from wrong_sum;
alter table wrong_sum
  drop constraint wrong_sum_pkey,
  drop column merchant_id,
  add primary key (card_hash);
