-- A cell has the orders of a part of the merchants, and everything that belongs to them. Cell 0 is
-- in the schema of the installation; any other is in a schema of its own, in this database or in
-- the one at its address.
create table cell (
  cell_no integer primary key check (cell_no between 0 and 4095),
  -- A postgres:// URL without user and password; null: the database of the installation.
  address text,
  created_at timestamptz not null
);
insert into cell (cell_no, address, created_at) values (0, null, now());

alter table merchant add column cell_no integer not null default 0;
alter table merchant add constraint merchant_cell_no_fkey foreign key (cell_no) references cell (cell_no);
