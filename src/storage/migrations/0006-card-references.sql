-- Cards that merchants keep to charge again. A reference belongs to one merchant and to the first payment it was made of.

-- One number for each card number of a merchant, whatever the expiry (unq-card-ref-id). Drawn by chance, so that nothing can be computed from it.
create table card_number_ref (
  merchant_id      bigint      not null,
  -- Keyed hash of the card number, as in sealed_card.
  fingerprint      bytea       not null,
  -- JSON carries it as a number, which is exact below 2^53.
  unique_reference bigint      not null check (unique_reference > 0 and unique_reference < 9007199254740992),
  created_at       timestamptz not null,
  primary key (merchant_id, fingerprint),
  unique (merchant_id, unique_reference)
);

-- The four ids say what they are for by their remainder by four, so that an id of one kind is never one of another, in whatever row.
create table card_reference (
  merchant_id              bigint      not null,
  card_ref_id              bigint      not null check (card_ref_id > 0 and card_ref_id % 4 = 0),
  recurring_payment_id     bigint      not null check (recurring_payment_id > 0 and recurring_payment_id % 4 = 1),
  dst_card_ref_id          bigint      not null check (dst_card_ref_id > 0 and dst_card_ref_id % 4 = 2),
  dst_recurring_payment_id bigint      not null check (dst_recurring_payment_id > 0 and dst_recurring_payment_id % 4 = 3),
  -- The first payment. One reference an order: whoever asks again gets the same one.
  order_id                 bigint      not null,
  -- Sealed anew for this reference, so that it stays when the order's own goes away with retention. Never a CVV2.
  pan_sealed               bytea       not null,
  pan_key                  bigint      not null,
  fingerprint              bytea       not null,
  -- What may be shown of the card.
  card                     jsonb       not null,
  -- What a later payment takes from the first one.
  first_payment            jsonb       not null,
  created_at               timestamptz not null,
  primary key (merchant_id, card_ref_id),
  unique (merchant_id, order_id),
  unique (merchant_id, recurring_payment_id),
  unique (merchant_id, dst_card_ref_id),
  unique (merchant_id, dst_recurring_payment_id),
  foreign key (merchant_id, fingerprint) references card_number_ref
);
