-- Processes to which others pass requests of cells that those do not serve (PEER_URL).
create table peer (
  -- As in the heartbeats: something that only one process can use.
  instance text primary key,
  url text not null,
  -- X25519, of one process: nobody else can open what is sealed for it.
  public_key bytea not null,
  -- The cells that it serves now.
  cells integer[] not null,
  beat_at timestamptz not null
);
