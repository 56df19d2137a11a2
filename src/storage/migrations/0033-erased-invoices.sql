-- The card number and the tokens of an invoice that has ended can be erased (`cards forget`, `subject erase`).
alter table mobile_invoice alter column secrets_sealed drop not null;
alter table mobile_invoice alter column secrets_key drop not null;
alter table mobile_invoice add constraint mobile_invoice_secrets_check
  check ((secrets_sealed is null) = (secrets_key is null) and (secrets_sealed is not null or state in ('ordered', 'declined')));
