-- The keys of CVV2 are no longer in the database (storage/hour-keys.ts), so that no backup can open a CVV2. One that is stored when
-- this runs cannot be opened any more: its payment ends as an error, and nothing is charged.
delete from key_version where purpose = 'cvv2';
alter table key_version add constraint key_version_lasts check (purpose <> 'cvv2');
