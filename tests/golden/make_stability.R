# Golden values of tests/diagnostics/test_stability.py: clusterboot of the R package fpc, which nobody
# here wrote. The tests read the JSON file and need no R.
#
#   apt-get install r-base-core r-cran-fpc r-cran-jsonlite
#   cd tests/golden && Rscript make_stability.R
#
# By default (multipleboot = FALSE) clusterboot clusters the distinct rows of a bootstrap sample, so a
# row that is drawn several times counts once.

suppressMessages({
  library(fpc)
  library(jsonlite)
})

# Three clusters that overlap, and two rows far out, of which a bootstrap sample may draw none.
set.seed(2007)
centers <- rbind(c(0, 0), c(3, 0), c(1, 3), c(9, 9))
x <- round(centers[rep(1:4, c(16, 12, 10, 2)), ] + matrix(rnorm(80), ncol = 2), 3)
rownames(x) <- seq_len(nrow(x))

# What clusterboot wants of a clustering, and what each call found: labels from 0 of the rows that it
# was given, -1 for the others. The first call is that on the data.
calls <- list()
as_cluster_function <- function(cluster) {
  function(data) {
    partition <- cluster(data)
    labels <- rep(-1, nrow(x))
    labels[as.integer(rownames(data))] <- partition - 1
    calls[[length(calls) + 1]] <<- labels
    nc <- max(partition)
    list(result = NULL, nc = nc, clusterlist = lapply(1:nc, function(k) partition == k),
         partition = partition, clustermethod = "own")
  }
}

bootstrap <- function(cluster, seed) {
  calls <<- list()
  found <- clusterboot(x, B = 20, bootmethod = "boot", clustermethod = as_cluster_function(cluster),
                       count = FALSE, seed = seed)
  list(labels = calls[[1]], replica_labels = do.call(rbind, calls[-1]), jaccard = found$bootresult,
       mean = found$bootmean, dissolved = found$bootbrd, recovered = found$bootrecover,
       dissolution = found$dissolution, recover = found$recover)
}

cases <- list(
  kmeans = bootstrap(function(data) kmeans(data, 3)$cluster, seed = 1),
  # Four clusters of the data, three of the replicas.
  linkage = bootstrap(
    function(data) cutree(hclust(dist(data), "average"), if (nrow(data) == nrow(x)) 4 else 3),
    seed = 2
  )
)
versions <- list(fpc = as.character(packageVersion("fpc")))
made_by <- list(R = paste(R.version$major, R.version$minor, sep = "."), packages = versions)
text <- toJSON(list(made_by = made_by, data = unname(x), cases = cases), digits = I(15), auto_unbox = TRUE)
writeLines(gsub("],\\[", "],\n[", text), "stability.json")
