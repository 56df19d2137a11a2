-- What hosted pages show of a merchant: a JSON with its name, colour, and what is known of the logo,
-- whose bytes are apart so that the configuration stays small.
alter table merchant add column page jsonb not null default '{}';
alter table merchant add column logo bytea;
