-- What directory servers and the issuers behind them send that does not fit and decides nothing. `what` is in our words: type of the
-- message, field, fault. Peers add counts and few rows.
create table directory_oddity (
  directory text        not null,
  what      text        not null,
  count     bigint      not null,
  last_at   timestamptz not null,
  primary key (directory, what)
);
