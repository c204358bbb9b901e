//! The guide's chapters, so that `cargo test --doc` runs their code: each is the documentation of a module.

/// The chapters, by the names of their files.
macro_rules! chapters {
    ($($name:ident)*) => {
        $(
            #[doc = include_str!(concat!("src/", stringify!($name), ".md"))]
            pub mod $name {}
        )*

        #[cfg(test)]
        const CHAPTERS: &[&str] = &[$(stringify!($name)),*];
    };
}

chapters! {
    introduction install first kernels tiles boundaries reductions obstacles lines colours lists levels groups generic
    gpus places ranks out_of_core fewer_bits speed files errors variables troubleshooting when
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::CHAPTERS;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
    }

    /// What the table of contents links to, without `.md`.
    fn contents() -> Vec<String> {
        let summary = std::fs::read_to_string(folder().join("SUMMARY.md")).unwrap();
        let links = summary.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        links.map(|(link, _)| link.strip_suffix(".md").unwrap().to_owned()).collect()
    }

    #[test]
    fn every_chapter_of_the_contents_is_tested() {
        assert_eq!(contents(), CHAPTERS);
    }

    #[test]
    fn every_file_is_in_the_contents() {
        let names = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut files: Vec<String> = names.map(|name| name.to_string_lossy().trim_end_matches(".md").into()).collect();
        let mut wanted: Vec<String> = contents();
        wanted.push("SUMMARY".to_owned());
        files.sort();
        wanted.sort();
        assert_eq!(files, wanted);
    }
}
