-- What operators set: the values that each change replaced, and those that it set. Values of a person
-- can be erased here, which the audit trail never has.
create table setting_change (
  change_id   bigint      primary key,
  entity      text        not null,
  entity_id   bigint      not null,
  merchant_id bigint,
  action      text        not null,
  who         text        not null,
  at          timestamptz not null,
  -- The fields that changed; before is null where the entity was made.
  before      jsonb,
  after       jsonb       not null,
  -- What changed and is not kept, by name; and which change this one took back.
  secrets     text[]      not null,
  undoes      bigint
);
create index setting_change_by_entity on setting_change (entity, entity_id, merchant_id, change_id);
