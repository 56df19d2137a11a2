-- The card that a transfer credits, sealed under the same key as the card that pays.
alter table sealed_card add column destination_sealed bytea;
