-- The user of the database who wrote a row of the audit trail. Null in rows that were written before it was recorded.
alter table audit add column session text;
