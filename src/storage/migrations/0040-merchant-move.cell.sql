-- The fence of a merchant that moves to another cell. Without a row here its orders are those of
-- this cell alone. While it is leaving, what is committed is also noted; once it has left, or as
-- long as it is arriving, nothing of it is committed here.
create table merchant_move (
  merchant_id bigint primary key,
  state text not null check (state in ('leaving', 'left', 'arriving')),
  -- Where it goes, or comes from.
  other_cell integer not null,
  -- The command that moves it. Another one that takes over writes its own number here.
  mover uuid not null
);

-- What was committed of leaving merchants since it was last copied; a row may be there twice.
create table merchant_move_note (
  merchant_id bigint not null,
  order_id bigint,
  invoice_id text,
  constraint merchant_move_note_check check (num_nulls(order_id, invoice_id) = 1)
);
create index merchant_move_note_by_merchant on merchant_move_note (merchant_id);
