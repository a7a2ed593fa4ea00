#!/usr/bin/env bash
# Removes all build products, including a working directory outside the checkout.
. "$(dirname "$0")/lib.sh"
if [ -f target/workdir ]; then
  work=$(cat target/workdir)
  case $work in /var/tmp/pg_simhash.*) rm -rf "$work" ;; esac
fi
rm -rf target
