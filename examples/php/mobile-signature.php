<?php

// What a merchant's server signs for its app: php mobile-signature.php <value>…

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

/**
 * HMAC-SHA1 of the values, with nothing between them. Its key is the control key without dashes.
 *
 * >>> session_signature("01234567-89AB-CDEF-0123-456789ABCDEF", "phone-1", "104", "1042", "USD")
 * '0DCBE37C94165094ABFE887EA4837F6860E357DF'
 */
function session_signature(string $key, string ...$values): string
{
    $bytes = (string) hex2bin(str_replace('-', '', $key));
    return strtoupper(hash_hmac('sha1', implode('', $values), $bytes));
}

// For a sale: access token, serial number, endpoint id, nonce, invoice id, amount in hundredths,
// currency.
echo session_signature($settings['control_key'], ...array_slice($argv, 1)), "\n";
