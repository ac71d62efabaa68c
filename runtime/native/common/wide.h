/* Code for the instructions that there are, chosen when it is loaded. */
#ifndef LAZYLOOM_WIDE
#define LAZYLOOM_WIDE
#if defined(__x86_64__) && defined(__GLIBC__) && __GNUC__ >= 12 && !defined(__clang__)
#define WIDE __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define WIDE
#endif
#endif
