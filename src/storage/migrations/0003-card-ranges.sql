-- What 3-D Secure knows before a payment: the card ranges of the directory servers, and the work of keeping them fresh.

-- Periodic work that one process does for all. `lease` is the process that has it in hand, as in transaction, and a dead process's lease is anybody's.
-- `tries` counts since the last time it went well, `error` is what went wrong then.
create table duty (
  name   text        primary key,
  due_at timestamptz not null,
  lease  bigint,
  tries  integer     not null,
  error  text
) with (fillfactor = 50);

-- One row a directory server. `version` rises with every change of its ranges, and processes that see it rise read them again. 0: never loaded.
create table directory_state (
  directory        text        primary key,
  version          bigint      not null,
  -- Of the last answer that was stored. Without it the next one is a full load.
  serial_num       text,
  -- What the directory server itself speaks, where a range does not say.
  ds_start_version text,
  ds_end_version   text,
  -- When it was last asked, unless that certainly did not reach it. It may be asked once an hour.
  asked_at         timestamptz,
  refreshed_at     timestamptz
) with (fillfactor = 50);

-- Ends of a range as received, 13 to 19 digits.
create table card_range (
  directory         text   not null,
  start_range       text   not null,
  end_range         text   not null,
  acs_start_version text   not null,
  acs_end_version   text   not null,
  ds_start_version  text,
  ds_end_version    text,
  acs_info_ind      text[] not null,
  method_url        text,
  primary key (directory, start_range, end_range)
);
