//! Files that are written and read again.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use tida::prelude::*;

use super::*;
use crate::Result;

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tida-plot-{}-{name}.png", std::process::id()))
}

/// Width, height and the pixels of each frame of a file, which goes away.
fn read(path: &PathBuf) -> (usize, usize, Vec<Vec<[u8; 3]>>) {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let frames = reader.info().animation_control().map_or(1, |control| control.num_frames);
    let mut read = Vec::new();
    for _ in 0..frames {
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        read.push(bytes.chunks(3).map(|p| [p[0], p[1], p[2]]).collect());
    }
    std::fs::remove_file(path).unwrap();
    (reader.info().width as usize, reader.info().height as usize, read)
}

fn count(pixels: &[[u8; 3]], colour: [u8; 3]) -> usize {
    pixels.iter().filter(|p| **p == colour).count()
}

#[test]
fn a_picture_of_an_array_reads_back() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut u = TileArray::<f64, 2>::builder([4, 4]).regions([2, 1]).ghost(1).build(&TileAcc::auto()?)?;
    u.fill(|[j, i]| if [j, i] == [0, 0] { f64::NAN } else { f64::from(u8::from(j < 2)) })?;
    let path = file("picture");
    Picture::middle(&u)?.side(40).save(&path)?;
    let (width, height, frames) = read(&path);
    let map = ColourMap::Viridis;
    assert_eq!(frames.len(), 1);
    assert!(width > 40 && height > 40 && frames[0].len() == width * height);
    assert_eq!(count(&frames[0], map.nan()), 100);
    // Those of the scale's ends come on top.
    assert!((700..=800).contains(&count(&frames[0], map.colour(1.0))));
    assert!((800..=900).contains(&count(&frames[0], map.colour(0.0))));
    // Halves above one another, not beside.
    let row = |colour| frames[0].iter().position(|p| *p == colour).unwrap() / width;
    assert!(row(map.colour(0.0)) >= row(map.colour(1.0)) + 19);
    Ok(())
}

#[test]
fn slices_and_projections_of_three_axes_read_their_cells() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let acc = TileAcc::auto()?;
    let mut u = TileArray::<i32, 3>::builder([3, 4, 5]).regions([3, 2, 1]).build(&acc)?;
    u.fill(|[k, j, i]| (100 * k + 10 * j + i) as i32)?;
    let values = |field: Field| field.values().to_vec();
    assert_eq!(values(Field::slice_of(&u, 1, 3, f64::from)?), values(Field::of(&u)?.slice(1, 3)?));
    assert_eq!(Picture::slice(&u, 1, 3)?, Picture::of(Field::of(&u)?.slice(1, 3)?)?);
    assert_eq!(Picture::middle(&u)?, Picture::slice(&u, 0, 1)?);
    assert_ne!(Picture::projection(&u, 2, Projection::Max)?, Picture::projection(&u, 2, Projection::Mean)?);
    assert_eq!(Lines::of(&u)?, Lines::new().series("", &[120.0, 121.0, 122.0, 123.0, 124.0]).axes("axis 2", ""));
    let error = Picture::slice(&u, 3, 0).unwrap_err().to_string();
    assert!(error.contains("axes are counted from 0, slowest first"), "{error}");

    let line = TileArray::<bool, 1>::builder([7]).build(&acc)?;
    let cell = Picture::slice(&line, 0, 6)?;
    assert_eq!(cell, Picture::of(Field::new(&[], vec![0.0])?)?);
    let four = TileArray::<u64, 4>::builder([2, 3, 4, 5]).build(&acc)?;
    Picture::projection(&four, 0, Projection::Sum)?.side(9).save(file("four"))?;
    assert!(read(&file("four")).0 > 9);
    Ok(())
}

#[test]
fn an_animation_has_its_frames_and_one_scale() -> Result<()> {
    let path = file("film");
    let mut film = Animation::new(&path)?;
    for step in 0..5 {
        let title = "far too long ".repeat(step);
        film.push(Picture::values(2, 2, vec![step as f64; 4])?.title(title).side(20));
    }
    assert_eq!(film.frames(), 5);
    film.finish()?;
    let (width, height, frames) = read(&path);
    assert_eq!(frames.len(), 5);
    assert!(frames.iter().all(|frame| frame.len() == width * height));
    let map = ColourMap::Viridis;
    assert!(count(&frames[0], map.colour(0.0)) > 300 && count(&frames[4], map.colour(0.0)) < 50);
    assert!(count(&frames[4], map.colour(1.0)) > 300 && count(&frames[0], map.colour(1.0)) < 50);
    assert!(count(&frames[2], map.colour(119.0 / 238.0)) > 300);
    Ok(())
}

#[test]
fn animations_of_lines_and_of_one_frame_are_written() -> Result<()> {
    let path = file("lines");
    let mut film = Animation::new(&path)?.frames_per_second(30.0);
    film.push(Lines::new().series("", &[1.0, 2.0]).size(50, 50));
    film.clone().finish()?;
    assert_eq!(read(&path).2.len(), 1);
    film.push(Drawing::from(Lines::new().series("", &[4.0, 2.0]).size(50, 50)).title("second"));
    film.finish()?;
    assert_eq!(read(&path).2.len(), 2);
    Ok(())
}

#[test]
fn what_cannot_be_written_is_said() -> Result<()> {
    let picture = || Picture::values(1, 1, vec![0.0]);
    let says = |done: Result<()>, text: &str| {
        let error = done.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        error
    };
    let error = says(
        picture()?.save("/nonexistent/a.png"),
        "tried to write a picture to /nonexistent/a.png; found No such file",
    );
    assert_eq!(error.advice(), "give a path that can be written");
    assert!(std::error::Error::source(&error).is_some());
    says(picture()?.save("a.jpg"), "found a name with another ending; end it in .png");
    says(Lines::new().save("a"), "tried to write a line plot to a;");
    says(Animation::new("a.gif").map(|_| ()), "tried to write an animation to a.gif;");
    let mut film = Animation::new(file("mixed"))?;
    film.push(picture()?);
    says(film.clone().frames_per_second(0.0).finish(), "found 0 frames a second");
    film.push(picture()?.colours(ColourMap::Magma));
    says(film.finish(), "found other colours in frame 1 than in the first; give all frames one map");
    Ok(())
}
