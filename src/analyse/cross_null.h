/* cross_null: how well unrelated failures agree by chance.
 *
 * The null models of the comparison of runs, as plain functions of numbers. In
 * all of them the runs fail independently of each other, each at a place that
 * has nothing to do with the others'. Knows nothing of runs and series. */
#ifndef OOMREPORT_ANALYSE_CROSS_NULL_H
#define OOMREPORT_ANALYSE_CROSS_NULL_H

/* P(at least m of k), each with probability q (binomial tail). 1 for m <= 0, 0 for m > k. */
double null_at_least(double m, double k, double q);

/* Steps: k failing steps drawn uniformly and independently from 1..n; the probability that
 * their range is at most w: ((n-w)·((w+1)^k - w^k) + w^k) / n^k  (a range of exactly d < n
 * can begin at n-d places). Exact coincidence (w = 0) gives n^-(k-1). 1 when w >= n-1 or k < 2. */
double null_range(double k, double n, double w);

/* Samples: k failing batches of b distinct samples each, drawn at random from n samples; an
 * upper bound of the probability that some sample is in at least m of them: n·P(at least m of
 * k with b/n) (union bound over the samples), at most 1. n is a lower bound of the number
 * of samples, which makes the result larger, never smaller. */
double null_shared(double m, double k, double n, double b);

/* C(k, m), 0 outside 0..k. */
double null_choices(double m, double k);

/* As null_shared, of s samples: an upper bound of the probability that s samples or more are in at least m of
 * the k batches, or one in more than m: C(n,s)·P(at least m of k with b/n)^s + null_shared(m + 1, ...). In
 * one batch samples push each other out (draws without replacement are negatively associated, Joag-Dev and
 * Proschan 1983), so that s of them are together no likelier than if each were drawn by itself. */
double null_shared_set(double s, double m, double k, double n, double b);

/* Whole batches: k failing batches out of n equally likely ones; an upper bound of the
 * probability that m of them are the same: C(k,m)·n^-(m-1), at most 1. */
double null_same(double m, double k, double n);

/* Shapes: a failing batch that is an ordinary draw has a rank share u (share of batches at least
 * as large) that is uniform on 0..1; the probability that all k are at most u: u^k. */
double null_large(double k, double u);

#endif
