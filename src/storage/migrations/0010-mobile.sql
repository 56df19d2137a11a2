-- A transaction of the mobile API from the app's request until there is an order for it: until then the merchant's server has to confirm it. It is a job as a transaction is.
create table mobile_invoice (
  merchant_id    bigint      not null,
  invoice_id     text        not null,
  endpoint_id    bigint      not null,
  kind           text        not null check (kind in ('verification', 'sale')),
  nonce          text        not null,
  session_token  text        not null,
  -- The order that it becomes, by number from the start.
  order_id       bigint      not null,
  -- Of the whole request, keyed: the same again is answered alike.
  digest         bytea       not null,
  request        jsonb       not null,
  -- Access token and signature, which go on to the merchant's server, and the card number; for this invoice alone.
  secrets_sealed bytea       not null,
  secrets_key    bigint      not null,
  -- Until there is an order, under the key of the hour.
  cvv2_sealed    bytea,
  cvv2_key       bigint,
  state          text        not null check (state in ('checking', 'ordered', 'declined')),
  error_code     integer,
  error_message  text,
  due_at         timestamptz,
  lease          bigint,
  tries          integer     not null,
  created_at     timestamptz not null,
  ended_at       timestamptz,
  check ((state = 'checking') = (due_at is not null)),
  check (state = 'checking' or cvv2_sealed is null),
  primary key (merchant_id, invoice_id),
  unique (merchant_id, nonce)
);
create index on mobile_invoice (due_at) where due_at is not null;
