-- How far a duty is that takes many steps, as its own code writes it; null at the beginning.
alter table duty add column place json;
