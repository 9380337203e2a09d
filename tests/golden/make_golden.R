# Golden values of tests/test_baselines.py, tests/test_fuzzy.py and tests/test_bagclust.py, made by
# R packages that nobody here wrote. The tests read the JSON files and need no R.
#
#   apt-get install r-base-core r-cran-clue r-cran-cluster r-cran-e1071 r-cran-fpc r-cran-jsonlite
#   cd tests/golden && Rscript make_golden.R
#
# It takes a few minutes. The random ones are averaged over so many references and splits
# that the error of the golden value is small beside that of a test.

suppressMessages({
  library(clue)
  library(cluster)
  library(e1071)
  library(fpc)
  library(jsonlite)
})

write_golden <- function(values, file, packages = c("cluster", "e1071", "fpc")) {
  versions <- sapply(packages, function(p) as.character(packageVersion(p)))
  made_by <- list(R = paste(R.version$major, R.version$minor, sep = "."), packages = as.list(versions))
  text <- toJSON(c(list(made_by = made_by), values), digits = I(15), auto_unbox = TRUE)
  writeLines(gsub("],\\[", "],\n[", text), file)
}

# Three elongated clusters of unequal sizes that overlap a little, along a diagonal so that the
# box and the principal-component box differ. Three decimals, so that the data are exact in JSON.
set.seed(2001)
sizes <- c(40, 25, 15)
centers <- rbind(c(0, 0), c(4, 3), c(1, 5))
noise <- matrix(rnorm(2 * sum(sizes)), ncol = 2) %*% rbind(c(1.2, 0.8), c(0, 0.7))
x <- round(centers[rep(1:3, sizes), ] + noise, 3)
k_max <- 6

# --- gap statistic -------------------------------------------------------------------------------
# d.power = 2 is the W of the paper up to a factor of one half.
n_references <- 4000
gap_table <- function(space) {
  result <- clusGap(x, kmeans, K.max = k_max, B = n_references, d.power = 2, spaceH0 = space,
                    verbose = FALSE, nstart = 50, iter.max = 100)
  tab <- result$Tab
  list(
    logW = tab[, "logW"], E_logW = tab[, "E.logW"], gap = tab[, "gap"], SE_sim = tab[, "SE.sim"],
    largest = maxSE(tab[, "gap"], tab[, "SE.sim"], method = "globalmax"),
    one_standard_error = maxSE(tab[, "gap"], tab[, "SE.sim"], method = "Tibs2001SEmax")
  )
}
set.seed(1)
write_golden(
  list(data = x, n_references = n_references, box = gap_table("original"),
       pca = gap_table("scaledPCA")),
  "gap.json"
)

# --- prediction strength -------------------------------------------------------------------------
n_splits <- 1500
set.seed(2)
strength <- prediction.strength(x, Gmin = 2, Gmax = k_max, M = n_splits, runs = 30)
write_golden(
  list(
    data = x, n_splits = n_splits, k_values = 2:k_max,
    mean = sapply(strength$predcorr[2:k_max], mean),
    sd = sapply(strength$predcorr[2:k_max], sd),
    optimal_k = strength$optimalk
  ),
  "prediction_strength.json"
)

# --- fuzzy c-means -------------------------------------------------------------------------------
y <- x[seq(1, nrow(x), by = 2), ]
best_cmeans <- function(k, m, weights = 1) {
  runs <- lapply(1:20, function(start) {
    cmeans(y, k, iter.max = 20000, m = m, weights = weights, control = list(reltol = 1e-16))
  })
  best <- runs[[which.min(sapply(runs, `[[`, "withinerror"))]]
  list(n_clusters = k, fuzzifier = m, weights = rep_len(weights, nrow(y)), centers = best$centers,
       memberships = round(best$membership, 10), withinerror = best$withinerror)
}
set.seed(3)
write_golden(
  list(data = y, cases = list(best_cmeans(3, 2), best_cmeans(4, 1.5),
                              best_cmeans(2, 3, weights = rep(c(1, 2, 4), length.out = nrow(y))))),
  "fuzzy.json"
)

# --- bagging -------------------------------------------------------------------------------------
# BagClust1 in which every replica votes on all rows, in several runs that each find their own
# reference partition. nstart is large enough for the optimum in all but a few replicas.
n_replicas <- 1000
n_runs <- 5
bagged_votes <- function(data, k) {
  reference <- kmeans(data, k, nstart = 100, iter.max = 100)
  votes <- 0
  for (run in 1:n_runs) {
    bagged <- cl_bag(data, n_replicas, k, parameters = list(nstart = 50, iter.max = 100))
    shares <- unclass(cl_membership(bagged))
    attributes(shares) <- list(dim = dim(shares))
    # runs number their clusters at random: numbered here as in the reference
    matched <- solve_LSAP(crossprod(cl_membership(as.cl_partition(reference)), shares), maximum = TRUE)
    votes <- votes + round(n_replicas * shares[, matched])
  }
  list(n_clusters = k, data = data, n_votes = n_replicas * n_runs, votes = votes)
}
# Three round clusters that overlap, as in data set 3 of the paper.
set.seed(2003)
corners <- rbind(c(1, 0), c(-1, 0), c(0, sqrt(3)))
overlapping <- round(corners[rep(1:3, each = 33), ] + matrix(rnorm(198), ncol = 2), 3)
set.seed(4)
write_golden(
  list(cases = list(iris = bagged_votes(unname(as.matrix(iris[, 1:4])), 3),
                    overlapping = bagged_votes(overlapping, 3))),
  "bagclust.json", packages = "clue"
)
