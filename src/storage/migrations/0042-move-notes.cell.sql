-- A cell that Citus moves to another node is copied by logical replication, which has to name the
-- rows that are removed meanwhile. These have no key, so a whole row names itself.
alter table merchant_move_note replica identity full;
