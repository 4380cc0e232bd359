/*
 * A program that does nothing: what is measured with it is how programs are started and looked
 * after.
 */
/* SPDX-License-Identifier: MIT */

int main(void)
{
    return 0;
}
